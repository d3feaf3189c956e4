/** Reloads a page that has not started: a file may have been missing during an update. */
setTimeout(
  () => {
    if (!document.documentElement.dataset['link']) location.reload();
  },
  60_000 + Math.random() * 60_000,
);
