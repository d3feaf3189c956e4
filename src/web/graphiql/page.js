/**
 * The page at /{mandator}/graphql: signs in, and is GraphiQL's fetcher. The credential is a variable of this module:
 * GraphiQL stores what is typed into it, and never sees the credential.
 */
import { exchange, openSignIn } from '../sign-in.js';
import { readEvents } from './event-stream.js';

const form = document.getElementById('sign-in');
const leave = document.getElementById('leave');
const { scheme, client } = form.dataset;
const endpoint = location.pathname;
let authorization;

const workers = { editorWorkerService: 'editor-worker.js', graphql: 'graphql-worker.js', json: 'json-worker.js' };
self.MonacoEnvironment = {
  globalAPI: false,
  getWorker: (_id, label) => new Worker(new URL(workers[label], import.meta.url)),
};

const firstTabs = [
  {
    query: `# Ctrl+Enter runs the operation.
query Rooms {
  me {
    name
    role
  }
  resources(first: 5) {
    nodes {
      id
      name
      kind
      capacity
    }
  }
  batches(
    filter: { importStatus: [LessonsCreated] }
    first: 3
  ) {
    nodes {
      id
      importStatus
      lessonCount
    }
  }
}
`,
  },
  {
    query: `# Shows imports as they go on.
# The same button ends it.
subscription Imports {
  batches {
    id
    importStatus
    progress
  }
}
`,
  },
];

function signOut(text) {
  authorization = undefined;
  document.body.classList.remove('is-signed-in');
  leave.hidden = true;
  say('wrong', text);
}

/** The frames of a subscription, until the service or GraphiQL ends it. */
function framesOf(body, stop) {
  const events = readEvents(body);
  const over = { done: true, value: undefined };
  const frames = {
    async next() {
      const { done, value: [name, data] = [] } = await events.next().catch((error) => {
        if (stop.signal.aborted) return over;
        throw error;
      });
      return done || name === 'complete' ? over : { done: false, value: JSON.parse(data) };
    },
    async return() {
      stop.abort();
      return over;
    },
    [Symbol.asyncIterator]: () => frames,
  };
  return frames;
}

async function ask(call, headers = {}) {
  const stop = new AbortController();
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: {
      Accept: 'application/graphql-response+json, application/json;q=0.9, text/event-stream;q=0.8',
      ...headers,
      'Content-Type': 'application/json',
      ...authorization,
    },
    body: JSON.stringify(call),
    signal: stop.signal,
  });
  if (answer.headers.get('Content-Type')?.startsWith('text/event-stream')) return framesOf(answer.body, stop);
  const read = await answer.json();
  if (answer.status === 401 && authorization) signOut('The sign-in has ended; sign in again.');
  // Errors before GraphQL runs are problems (RFC 9457).
  return 'detail' in read ? { errors: [{ message: read.detail }] } : read;
}

function show() {
  const root = document.createElement('div');
  document.getElementById('graphiql').replaceChildren(root);
  YogaGraphiQL.renderYogaGraphiQL(root, {
    title: 'roomgate',
    logo: '',
    // Just after a change of tabs GraphiQL still has the former tab's operation name.
    fetcher: ({ query, variables, operationName }, { headers } = {}) =>
      ask({ query, variables, ...(query.includes(operationName) && { operationName }) }, headers),
    defaultTabs: firstTabs,
    shouldPersistHeaders: false,
  });
}

const say = openSignIn(form, async (given) => {
  const offered = {
    APIKEY: async () => ({ APIKEY: given }),
    Bearer: async () => ({
      Authorization: `Bearer ${await exchange(new URL('..', location.href), decodeURIComponent(client), given)}`,
    }),
    '': async () => ({ Authorization: `Bearer ${given}` }),
  };
  authorization = await offered[scheme]();
  const { data, errors } = await ask({ query: '{ me { name role } }' });
  if (!data) {
    authorization = undefined;
    throw new Error(errors[0].message);
  }
  if (!document.querySelector('#graphiql > div')) show();
  document.body.classList.add('is-signed-in');
  leave.hidden = false;
  return `Signed in as ${data.me.name} (${data.me.role}).`;
});
// Reloading clears the memory of the page.
leave.addEventListener('click', () => location.reload());
