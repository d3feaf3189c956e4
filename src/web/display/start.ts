/** Loads the page anew when it has not come to life: a part of it may have been missing while a new version was laid out. */
setTimeout(
  () => {
    if (!document.documentElement.dataset['link']) location.reload();
  },
  60_000 + Math.random() * 60_000,
);
