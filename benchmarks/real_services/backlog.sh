# Makes an empty project in the folder named first, then starts the server named second on it.
set -e
cd "$1"
"$2" init Desk --defaults --integration-mode none --no-git > /dev/null 2>&1
exec "$2" mcp start --cwd "$1"
