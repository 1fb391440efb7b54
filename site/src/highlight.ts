/** Colours code when the site is built: elements with classes that start with `hljs-`, for which `site.css` has the colours. */
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'

/** The languages of blocks of code, by the name that follows the fence. */
const LANGUAGES = { js: javascript, ts: typescript, json, sh: bash, html: xml, sql } as const

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language)
// A page in HTML contains scripts.
hljs.registerAliases(['javascript'], { languageName: 'js' })

/** As HTML; undefined if the language has no colours. */
export function highlight(code: string, language: string): string | undefined {
  return Object.hasOwn(LANGUAGES, language) ? hljs.highlight(code, { language }).value : undefined
}
