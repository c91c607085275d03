# Lays three notes into the folder named first, then starts the server named second on it.
set -e
cd "$1"
mkdir -p notes/recipes journal
cat > notes/recipes/soup.md <<'N'
---
tags: [kitchen, winter]
servings: 4
---
# Pumpkin soup

Roast the pumpkin first. Shopping is in [[groceries]].

## Ingredients
- pumpkin
- ginger

## Steps
Blend everything and serve hot.
N
printf '# Groceries\n\nBuy ginger and bread for the [[soup]]. #shopping\n' > notes/groceries.md
printf -- '---\ntags: [daily]\n---\n# Monday\n\nPlanted garlic. #garden\n' > journal/monday.md
exec "$2" "$1"
