# Starts the server named second on an empty list of tasks in the folder named first; without this file `task` asks for it.
printf 'confirmation=off\n' > "$1/rc"
exec "$2"
