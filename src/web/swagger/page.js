/** The page at /swagger: signs in with a PIN and hands the token to Swagger UI. */

// The page may be reached under another name than the setting BaseUrl; a browser calls only where the page came from.
const here = new URL('.', location.href).href.replace(/\/$/, '');
const form = document.getElementById('sign-in');
const pin = document.getElementById('pin');
const { scheme, client } = form.dataset;
const said = document.getElementById('said');

function say(kind, text) {
  said.dataset.kind = kind;
  said.textContent = text;
}

/** The token for a PIN, or an Error that tells a person what to do. */
async function exchange(apikey) {
  const body = new URLSearchParams({
    grant_type: 'apikey',
    scope: 'service_api',
    client_id: decodeURIComponent(client),
    apikey,
  });
  const answer = await fetch(`${here}/connect/token`, { method: 'POST', body }).catch(() => {
    throw new Error('The server does not answer; try again.');
  });
  const read = await answer.json().catch(() => ({}));
  if (answer.ok) return read.access_token;
  if (read.error === 'invalid_grant') throw new Error('This PIN is not valid. Check it, or make another one.');
  throw new Error(read.error_description ?? `The server answers ${answer.status}; try again later.`);
}

async function signIn(ui) {
  say('', 'Signing in …');
  try {
    const given = pin.value.trim();
    ui.preauthorizeApiKey(scheme, scheme === 'Bearer' ? await exchange(given) : given);
    pin.value = '';
    say('right', scheme === 'Bearer' ? 'Signed in.' : 'Your PIN now goes with each call.');
  } catch (error) {
    say('wrong', error.message);
    pin.focus();
  }
}

async function start() {
  const spec = await (await fetch('swagger/openapi.json')).json();
  spec.servers[0].url = here;
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#swagger-ui',
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    // Else Swagger UI asks an outside service to judge the document.
    validatorUrl: null,
  });
  form.hidden = scheme === '';
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void signIn(ui);
  });
}

start().catch(() => say('wrong', 'The page could not be loaded; load it again.'));
