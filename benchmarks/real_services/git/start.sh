# Makes a repository in the folder named first, then starts the server named second on it.
set -e
here=$PWD
cd "$1"
git init -q -b main repository
cd repository
git config user.name 'Ada Roy'
git config user.email ada@example.org
printf 'milk\neggs\n' > list.txt
printf 'Shopping for the week.\n' > README.md
git add .
git commit -qm 'Write down what to buy'
git branch spring
git branch summer
printf 'bread\n' >> list.txt
git commit -qam 'Add bread'
printf 'tea\n' >> list.txt
printf 'Monday: market\n' > plan.txt
cd ..
exec "$2" --repository repository
