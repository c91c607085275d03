"""What leads from tool to tool: semantic types with evidence, and the graph they make."""
