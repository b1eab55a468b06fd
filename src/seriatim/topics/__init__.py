"""Topics of a stream of documents."""
