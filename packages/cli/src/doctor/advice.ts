/**
 * The lines to change, for each fact and each cache that Freshet ships a configuration for. They come from deploy/, so following
 * all of them leads to the same file. A fact without lines needs no change, or cannot be changed by configuration.
 */
import type { AdvisedCache } from './cache-names.js'

export interface Advice {
  readonly cache: AdvisedCache
  /** Where the lines belong, and what to remove. */
  readonly where: string
  readonly lines: readonly string[]
}

type Lines = Readonly<Partial<Record<AdvisedCache, readonly [where: string, ...lines: string[]]>>>

const VCL_FETCH = 'in sub vcl_backend_response'
const LIFETIMES: Lines = {
  varnish: [`${VCL_FETCH}, and remove every "set beresp.ttl"`, 'set beresp.grace = 0s;'],
  squid: ['instead of every other refresh_pattern', 'refresh_pattern . 0 0% 0', 'max_stale 0 seconds'],
  nginx: [
    'in the location, and remove proxy_cache_valid and proxy_ignore_headers',
    'proxy_cache_use_stale off;',
    'proxy_cache_background_update off;',
  ],
}

const NO_STORE: Lines = {
  varnish: [
    `${VCL_FETCH}, and remove every line that sets beresp.ttl`,
    'if (beresp.http.Cache-Control ~ "no-store") { set beresp.uncacheable = true; }',
  ],
  squid: [
    'instead of every other refresh_pattern (do not use ignore-no-store)',
    'refresh_pattern . 0 0% 0',
    'negative_ttl 0 seconds',
  ],
  nginx: ['in the location: remove "proxy_ignore_headers Cache-Control" and every proxy_cache_valid'],
}

const PURGES: Lines = {
  varnish: [
    'in sub vcl_recv, with a secret of your own, and with "acl purgers" above it',
    'if (req.method == "PURGE" || req.method == "BAN") {',
    '    if (client.ip !~ purgers || req.http.Freshet-Purge-Secret != "...") {',
    '        return (synth(403, "Forbidden"));',
    '    }',
    '    if (req.method == "PURGE") { return (purge); }',
    '}',
  ],
  squid: [
    'before http_access allow all, with a secret of your own',
    'acl purge method PURGE',
    'acl purgers src 127.0.0.1 ::1',
    'acl purge_secret req_header Freshet-Purge-Secret ^...$',
    'http_access allow purge purgers purge_secret',
    'http_access deny purge',
  ],
  nginx: [
    'geo and map in http, with a secret of your own; the last line in the location',
    'geo $freshet_refresher { default 0; 127.0.0.1 1; ::1 1; }',
    'map "$freshet_refresher $http_freshet_purge_secret" $freshet_refreshes { default 0; "1 ..." 1; }',
    'proxy_cache_bypass $freshet_refreshes $http_authorization;',
  ],
}

function headerLines(name: string): Lines {
  const variable = name.replaceAll('-', '_')
  return {
    varnish: [`remove every "unset" and "set" of beresp.http.${name}, obj.http.${name} and resp.http.${name}`],
    squid: [
      `remove every reply_header_access and reply_header_replace of ${name}, or`,
      `reply_header_access ${name} allow all`,
    ],
    nginx: [
      `in the location: remove proxy_hide_header ${name}, expires and add_header ${name} ($upstream_http_${variable.toLowerCase()} has it)`,
    ],
  }
}

const LINES: Readonly<Record<string, Lines>> = {
  copies: {
    varnish: ['in sub vcl_recv: remove "return (pass)" for /db/, and drop cookies', 'unset req.http.Cookie;'],
    squid: ['remove "cache deny" for /db/'],
    nginx: ['in the location, and remove proxy_no_cache', 'proxy_cache freshet;', 'proxy_cache_key $request_uri;'],
  },
  queries: {
    varnish: [
      'in sub vcl_hash; and in vcl_recv remove every line that sets req.url or sorts its query',
      'hash_data(req.url);',
      'return (lookup);',
    ],
    squid: ['remove store_id_program and url_rewrite_program, or make them leave query strings unchanged'],
    nginx: [
      'in the location ($uri has no query string; nothing may follow the name in proxy_pass)',
      'proxy_cache_key $request_uri;',
      'proxy_pass http://freshet;',
    ],
  },
  'copies-at': {
    varnish: ['in sub vcl_recv: remove "return (pass)" for URLs with a query'],
    squid: ['remove "cache deny" for URLs with a query, and "refresh_pattern (/cgi-bin/|\\?)"'],
    nginx: ['in the location: remove proxy_no_cache and proxy_cache_bypass with $args, $is_args or $query_string'],
  },
  vary: {
    ...headerLines('Vary'),
    nginx: ['in the location: remove Vary from proxy_ignore_headers; nginx need not compress', 'gzip off;'],
  },
  authorization: {
    varnish: ['in sub vcl_recv, before anything that unsets it', 'if (req.http.Authorization) { return (pass); }'],
    squid: ['before http_access allow', 'acl with_permission req_header Authorization .', 'cache deny with_permission'],
    nginx: [
      'in the location',
      'proxy_cache_bypass $http_authorization;',
      'proxy_no_cache $http_authorization $upstream_http_age;',
    ],
  },
  expiry: LIFETIMES,
  lifetime: headerLines('Cache-Control'),
  etag: headerLines('ETag'),
  'etag-weak': {
    varnish: ['to keep ETags unchanged, start varnishd with', '-p http_gzip_support=off'],
    nginx: ['in the location, to keep ETags unchanged', 'gzip off;', 'gunzip off;'],
  },
  position: headerLines('Freshet-Position'),
  age: {
    ...headerLines('Age'),
    nginx: ['in the location', 'proxy_pass_header Date;', 'proxy_no_cache $http_authorization $upstream_http_age;'],
  },
  errors: {
    ...NO_STORE,
    varnish: [
      `${VCL_FETCH}, and remove every line that sets beresp.ttl`,
      'if (beresp.status >= 400) { set beresp.uncacheable = true; }',
    ],
  },
  'no-store': {
    ...NO_STORE,
    varnish: ['in sub vcl_recv', 'if (req.url ~ "^/coherence(\\?|$)") { return (pass); }'],
  },
  revalidation: {
    squid: ['remove ignore-reload and reload-into-ims from every refresh_pattern', 'refresh_pattern . 0 0% 0'],
  },
  collapsing: {
    squid: ['only if readers other than Freshet clients read through it', 'collapsed_forwarding off'],
  },
  conditions: {
    varnish: ['in sub vcl_recv: remove every unset of req.http.If-Match and req.http.If-None-Match'],
    squid: ['remove request_header_access for If-Match and If-None-Match'],
    nginx: ['in the location: remove proxy_set_header If-Match and If-None-Match'],
  },
  'purge-closed': {
    ...PURGES,
    nginx: [
      'in the location; and a secret of your own in the map $freshet_refreshes',
      'if ($request_method = PURGE) { return 405; }',
    ],
  },
  purge: PURGES,
  methods: {
    squid: [
      'before http_access allow all',
      'acl known_method method GET HEAD POST PUT PATCH DELETE OPTIONS PURGE',
      'http_access deny !known_method',
    ],
  },
  events: {
    varnish: ['in sub vcl_recv', 'if (req.url ~ "^/coherence/events") { return (pipe); }'],
    squid: ['remove what holds answers back (adaptation, delay_pools); Squid itself passes events on'],
    nginx: [
      'in a location of its own, and remove X-Accel-Buffering from proxy_ignore_headers',
      'location /coherence/events {',
      '    proxy_pass http://freshet;',
      '    proxy_http_version 1.1;',
      '    proxy_set_header Connection "";',
      '    proxy_buffering off;',
      '    proxy_read_timeout 1h;',
      '}',
    ],
  },
}

export const FACTS_WITH_ADVICE: readonly string[] = Object.keys(LINES)

export function adviceFor(fact: string, caches: readonly AdvisedCache[]): readonly Advice[] {
  const lines = LINES[fact] ?? {}
  return caches.flatMap(cache => {
    const [where, ...rest] = lines[cache] ?? []
    return where === undefined ? [] : [{ cache, where, lines: rest }]
  })
}
