/** The page at `/` and `/{mandator}`: what the service is, and links to GraphiQL, Swagger and the OpenAPI document. */
import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { contentPolicy, makeWebFile, sendWebFile } from './files.ts';

const style = `
body { background: #f4f6f8; color: #1b2733; font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 42rem; padding: 3rem 1.5rem }
h1 { margin: 0 } h1 + p { margin-top: .25rem }
ul { list-style: none; margin: 2rem 0; padding: 0 }
li { background: #fff; border: 1px solid #d5dce3; border-radius: 6px; margin: .75rem 0; padding: .75rem 1rem }
a { color: #0b57a4; font-weight: 600 }
code { background: #e8edf2; border-radius: 3px; overflow-wrap: anywhere; padding: .1rem .3rem }
`;
const policy = contentPolicy.replace(
  "style-src 'self'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
);

const asHtml = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

type Links = {
  Mandator: string | null;
  Rest: string;
  GraphQL: string;
  GraphiQL: string | null;
  Swagger: string | null;
  ApiDocument: string | null;
};

/** @param root relative path from the page to the root: browsers may reach the service under another name than BaseUrl */
function renderEntry({ Mandator, Rest, GraphQL, ...enabled }: Links, root: string): string {
  const link = (path: string, name: string, text: string) =>
    `<li><a href="${asHtml(root + path)}">${name}</a><br>${text}</li>`;
  const pages = [
    ...(enabled.GraphiQL && Mandator
      ? [link(`${Mandator}/graphql`, 'GraphiQL', 'Ask the graph of this tenant, and watch its subscriptions.')]
      : []),
    ...(enabled.Swagger ? [link('swagger', 'Swagger', 'Every route of REST, with examples to try.')] : []),
    ...(enabled.ApiDocument ? [link('swagger/openapi.json', 'OpenAPI', 'The same for programs.')] : []),
  ];
  const nothing = '<p>Pages to try the API on are switched off here; ask whoever runs this server.</p>';
  const elsewhere =
    enabled.GraphiQL && !Mandator
      ? '<p>Each tenant has a page of its own, with GraphiQL: add its name to this address.</p>'
      : '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>roomgate${Mandator ? ` – ${asHtml(Mandator)}` : ''}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>roomgate${Mandator ? ` – ${asHtml(Mandator)}` : ''}</h1>
<p>This is a room booking service: rooms, timetables, bookings and door signs.</p>
${pages.length > 0 ? `<ul>${pages.join('')}</ul>` : elsewhere ? '' : nothing}
${elsewhere}
<p>Programs call REST at <code>${asHtml(Rest)}</code> and GraphQL at <code>${asHtml(GraphQL)}</code>, with the token that the PIN of a person is exchanged for.</p>
</main>
</body>
</html>
`;
}

export async function showEntry(links: Links, request: Request, response: Response): Promise<void> {
  const root = links.Mandator !== null && request.path.endsWith('/') ? '../' : '';
  const page = await makeWebFile('html', renderEntry(links, root));
  sendWebFile(request, response.set('Content-Security-Policy', policy), page);
}
