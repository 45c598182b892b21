// Shows the values of the point next to the pointer.
for (const figure of document.querySelectorAll("figure.plot")) {
  const [names, points] = [JSON.parse(figure.dataset.names), JSON.parse(figure.dataset.points)];
  const [svg, output] = [figure.querySelector("svg"), figure.querySelector("output")];
  const digits = value => Number(value.toPrecision(4)).toString();
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const distance = point => (point[0] - x) ** 2 + (point[1] - y) ** 2;
    const nearest = points.reduce((a, b) => (distance(b) < distance(a) ? b : a));
    output.textContent = `${names[nearest[2]]}: ${digits(nearest[3])}, ${digits(nearest[4])}`;
  });
}
