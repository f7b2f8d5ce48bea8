// ---- begin ----

const unpack = async (id) => {
  const bytes = Uint8Array.from(atob($(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
};
Promise.all([unpack("payload"), unpack("packed-reasons")]).then(([text, packed]) => {
  const data = JSON.parse(new TextDecoder().decode(text));
  tradeoffPart(data);
  trainingPart(data);
  theoryPart(data);
  queriesPart(data, reasonsPart(data, new Uint8Array(packed)));
  document.documentElement.dataset.ready = "yes";
});
