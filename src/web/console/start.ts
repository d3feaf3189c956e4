/** The console: starts it in the page. */
import { render } from 'preact';
import { Refused } from './client.ts';
import { drawInPlace, h } from './parts/html.ts';
import { listenForHelp } from './parts/keys.ts';
import { keepSession, openSession } from './session.ts';
import { Console } from './shell.ts';

const place = document.querySelector('#console') as HTMLElement;
place.replaceChildren();
drawInPlace();
render(h(Console, {}), place);
listenForHelp();
keepSession();
openSession().catch((error: unknown) => {
  if (!(error instanceof Refused)) throw error;
  render(h(Console, { refusal: error.refusal }), place);
});
