# Starts the server named second on a copy of our files in the folder named first.
cp -R files/. "$1"
exec "$2" "$1"
