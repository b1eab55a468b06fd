"""What is timed inside a process: run by Seriatim's interpreter and by the peers', with the same loop for both."""
