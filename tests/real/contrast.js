// Gives every element whose text does not stand out from its ground, and by how little: WCAG 2.2, 1.4.3 asks for 4.5.
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const over = (colours) => { canvas.clearRect(0, 0, 1, 1); for (const one of colours) { canvas.fillStyle = one; canvas.fillRect(0, 0, 1, 1); } return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = (rgb) => { const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.offsetParent || node.closest("script, noscript, svg, option, .skip")) continue;
    const grounds = [];
    for (let one = node; one; one = one.parentElement) grounds.unshift(getComputedStyle(one).backgroundColor);
    const style = getComputedStyle(node);
    if (style.visibility === "hidden") continue;
    const ground = over(grounds), ink = over([`rgb(${ground})`, style.color]);
    const [a, b] = [light(ink), light(ground)].sort((one, other) => other - one);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.add(`${node.tagName}.${node.className} ${style.color} on ${ground}: ${ratio.toFixed(2)}`);
  }
  return [...poor].slice(0, 10);
})()
