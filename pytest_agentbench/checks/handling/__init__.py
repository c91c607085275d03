"""What an agent did about faults at its tools: tried again, said so, made something up."""
