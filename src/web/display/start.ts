/** Runs before the modules of a page, and in browsers that cannot read those: it uses nothing that is newer than 2018. */
(() => {
  // The newest of all that the pages need.
  if ('at' in Array.prototype) {
    // Reloads a page that has not started: a file may have been missing during an update.
    setTimeout(() => document.documentElement.dataset['link'] || location.reload(), (1 + Math.random()) * 6e4);
    return;
  }
  const [, language = navigator.language] = /[?&]lang=(..)/.exec(location.search) || [];
  const says = /^de/i.test(language)
    ? 'Dieser Browser ist zu alt. Bitte erneuern, auf Android'
    : 'This browser is too old. Please update it, on Android';
  addEventListener('DOMContentLoaded', () => {
    (document.querySelector('#card') as Element).textContent =
      `${says} “Android System WebView”: Chrome 92, Firefox 90, Safari 15.4`;
  });
})();
