# Starts the server named second; its memory is a copy of ours in the folder named first.
cp memory.jsonl "$1/memory.jsonl"
exec "$2"
