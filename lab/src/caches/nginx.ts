/** nginx, with the shipped configuration or another. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningCache, startCache } from './cache-process.js'
import { originOf, SECRET, SECRET_SHIPPED, shippedConfiguration } from './shipped-configuration.js'

export interface NginxOptions {
  /** The server, or the cache behind this one. */
  readonly origin: string
  /** The lines of a location besides `proxy_pass` and `proxy_cache`; the shipped configuration if undefined. */
  readonly rules?: string
}

export function startNginx({ origin, rules }: NginxOptions): Promise<RunningCache> {
  return startCache({
    kind: 'nginx',
    secret: SECRET,
    prepare: (folder, port) => {
      mkdirSync(join(folder, 'temporary'))
      const site = rules === undefined ? shippedSite(origin, folder, port) : bareSite(origin, folder, port, rules)
      writeFileSync(join(folder, 'freshet.conf'), site)
      writeFileSync(join(folder, 'nginx.conf'), surroundings(folder))
      return { program: 'nginx', args: ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'] }
    },
  })
}

function shippedSite(origin: string, folder: string, port: number): string {
  const { host, port: originPort } = originOf(origin)
  return shippedConfiguration('nginx/freshet.conf', {
    '/var/cache/nginx/freshet': join(folder, 'cache'),
    'server 127.0.0.1:7700': `server ${host}:${originPort}`,
    'listen 127.0.0.1:8080': `listen 127.0.0.1:${port}`,
    [SECRET_SHIPPED]: SECRET,
  })
}

function bareSite(origin: string, folder: string, port: number, rules: string): string {
  return `
    proxy_cache_path ${join(folder, 'cache')} keys_zone=bare:1m;
    server {
      listen 127.0.0.1:${port};
      location / {
        proxy_pass ${origin};
        proxy_cache bare;
        ${rules}
      }
    }`
}

/** The part that depends on the machine: where files go. */
function surroundings(folder: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
    daemon off;
    worker_processes 1;
    pid ${folder}/nginx.pid;
    error_log stderr error;
    events { worker_connections 1024; }
    http {
      access_log off;
      keepalive_requests 1000000;
      ${kinds.map(kind => `${kind}_temp_path ${folder}/temporary/${kind};`).join('\n      ')}
      include ${folder}/freshet.conf;
    }
  `
}
