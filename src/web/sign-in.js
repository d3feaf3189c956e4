/** The sign-in form of Swagger and GraphiQL. Credentials stay in the memory of the page. */

/** The access token for a PIN, or an Error that tells a person what to do. @param root where the service is */
export async function exchange(root, client, apikey) {
  const body = new URLSearchParams({ grant_type: 'apikey', scope: 'service_api', client_id: client, apikey });
  const answer = await fetch(new URL('connect/token', root), { method: 'POST', body }).catch(() => {
    throw new Error('The server does not answer; try again.');
  });
  const read = await answer.json().catch(() => ({}));
  if (answer.ok) return read.access_token;
  if (read.error === 'invalid_grant') throw new Error('This PIN is not valid. Check it, or make another one.');
  throw new Error(read.error_description ?? `The server answers ${answer.status}; try again later.`);
}

/**
 * Calls `use` with the submitted text, and shows its result or error in the form's output.
 * @returns shows another text there
 */
export function openSignIn(form, use) {
  const field = form.querySelector('input');
  const said = form.querySelector('output');
  function say(kind, text) {
    said.dataset.kind = kind;
    said.textContent = text;
  }
  async function send() {
    say('', 'Signing in …');
    try {
      say('right', await use(field.value.trim()));
      field.value = '';
    } catch (error) {
      say('wrong', error.message);
      field.focus();
    }
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send();
  });
  return say;
}
