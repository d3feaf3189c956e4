/** The page at /swagger: signs in with a PIN and hands the token to Swagger UI. */
import { exchange, openSignIn } from '../sign-in.js';

// The page may be reached under another name than the setting BaseUrl; a browser calls only where the page came from.
const here = new URL('.', location.href).href;
const form = document.getElementById('sign-in');
const { scheme, client } = form.dataset;

async function start() {
  const spec = await (await fetch('swagger/openapi.json')).json();
  spec.servers[0].url = here.replace(/\/$/, '');
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#swagger-ui',
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    // Otherwise Swagger UI sends the document to an external validator.
    validatorUrl: null,
  });
  form.hidden = scheme === '';
  return ui;
}

const started = start();
const say = openSignIn(form, async (given) => {
  const ui = await started;
  ui.preauthorizeApiKey(scheme, scheme === 'Bearer' ? await exchange(here, decodeURIComponent(client), given) : given);
  return scheme === 'Bearer' ? 'Signed in.' : 'Your PIN now goes with each call.';
});
started.catch(() => say('wrong', 'The page could not be loaded; load it again.'));
