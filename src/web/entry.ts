/** The page at `/` where there are several tenants or none: it asks which, and leads programmers to the documentation. */
import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { contentPolicy, makeAnswerFile, sendWebFile } from './files.ts';

const style = `
body { background: #f4f6f8; color: #1b2733; font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 42rem; padding: 3rem 1.5rem }
h1 { margin: 0 } h1 + p { margin-top: .25rem }
ul { list-style: none; margin: 2rem 0; padding: 0 }
li { background: #fff; border: 1px solid #d5dce3; border-radius: 6px; margin: .75rem 0; padding: .75rem 1rem }
a { color: #0b57a4; font-weight: 600 }
input, button { font: inherit; padding: .5rem .75rem }
code { background: #e8edf2; border-radius: 3px; overflow-wrap: anywhere; padding: .1rem .3rem }
`;
const policy = contentPolicy({
  'style-src': `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'form-action': "'self'",
});

const asHtml = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

type Links = {
  Rest: string;
  GraphQL: string;
  Swagger: string | null;
  ApiDocument: string | null;
};

const texts = {
  en: {
    asks: 'What is the short name of your school or organization?',
    remark: 'It is part of the addresses that you were given; your administrator knows it.',
    go: 'To the console',
    programs: 'Programs call REST and GraphQL:',
  },
  de: {
    asks: 'Wie ist der Kurzname Ihrer Schule oder Einrichtung?',
    remark: 'Er steht in den Adressen, die Sie bekommen haben; wer roomgate betreut, kennt ihn.',
    go: 'Zur Konsole',
    programs: 'Programme rufen REST und GraphQL auf:',
  },
};

/** The page without a tenant: it asks for the short name, and lists none. */
function renderEntry({ Rest, GraphQL, Swagger, ApiDocument }: Links, language: keyof typeof texts): string {
  const { asks, remark, go, programs } = texts[language];
  const link = (path: string, name: string) => `<li><a href="${path}">${name}</a></li>`;
  const pages = [
    ...(Swagger ? [link('swagger', 'Swagger')] : []),
    ...(ApiDocument ? [link('swagger/openapi.json', 'OpenAPI')] : []),
  ];
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>roomgate</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>roomgate</h1>
<form>
<p><label for="mandator">${asks}</label></p>
<p><input id="mandator" name="mandator" required maxlength="64" pattern="[A-Za-z0-9_\\-]+" autocapitalize="none" autocomplete="organization" spellcheck="false" autofocus>
<button>${go}</button></p>
<p>${remark}</p>
</form>
<p>${programs} <code>${asHtml(Rest)}</code>, <code>${asHtml(GraphQL)}</code></p>
${pages.length > 0 ? `<ul>${pages.join('')}</ul>` : ''}
</main>
</body>
</html>
`;
}

export function showEntry(links: Links, request: Request, response: Response): void {
  const language = request.acceptsLanguages('en', 'de') === 'de' ? 'de' : 'en';
  const page = makeAnswerFile('html', renderEntry(links, language));
  sendWebFile(request, response.vary('Accept-Language').set('Content-Security-Policy', policy), page);
}
