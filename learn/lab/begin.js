async function begin() {
  const [bytes, text] = await Promise.all([unpack("module"), unpack("learn")]);
  moduleBytes = bytes;
  learn = JSON.parse(new TextDecoder().decode(text));
  book = bookOf(learn);
  startWorker();
  connect();
  if (matchMedia("(max-width: 760px)").matches) element("contents").open = false;
  openFragment();
  document.body.dataset.ready = "true";
}

begin().catch(error => {
  element("verdict").textContent = `This browser cannot show the page: ${error.message}`;
});
