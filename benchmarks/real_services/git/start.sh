# Makes a repository in the folder named first, then starts the server named second on it.
set -e
cd "$1"
git init -q -b main repository
cd repository
git config user.name 'Ada Roy'
git config user.email ada@example.org
printf 'milk\neggs\n' > list.txt
printf 'Shopping for the week.\n' > README.md
git add .
git commit -qm 'Write down what to buy'
printf 'bread\n' >> list.txt
git commit -qam 'Add bread'
git branch summer
git checkout -qb spring
printf 'peas\nleeks\n' > garden.txt
git add .
git commit -qm 'Plan the garden'
git checkout -q main
printf 'tea\n' >> list.txt
git add list.txt
printf 'Shopping for the week, and what to cook.\n' > README.md
printf 'Monday: market\n' > plan.txt
cd ..
exec "$2" --repository repository
