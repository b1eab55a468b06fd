"""Generated streams: concepts that drift, and rows for benchmarks."""
