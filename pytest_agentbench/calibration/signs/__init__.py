"""Signs that something went wrong in a conversation, each readable from transcript, tool log and state."""
