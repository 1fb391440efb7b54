/** Varnish, with the shipped VCL or another. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningCache, startCache } from './cache-process.js'
import { originOf, SECRET, SECRET_SHIPPED, shippedConfiguration } from './shipped-configuration.js'

export interface VarnishOptions {
  /** The server, or the cache behind this one. */
  readonly origin: string
  /** The VCL besides its backend; the shipped VCL if undefined. */
  readonly rules?: string
  /** Threads at the start; default 20. Each stream of events takes one. */
  readonly threads?: number
}

export function startVarnish({ origin, rules, threads = 20 }: VarnishOptions): Promise<RunningCache> {
  const vcl = rules === undefined ? shippedVcl(origin) : bareVcl(origin, rules)
  return startCache({
    kind: 'varnish',
    secret: SECRET,
    prepare: (folder, port) => {
      writeFileSync(join(folder, 'freshet.vcl'), vcl)
      const parameters = [
        'thread_pools=1',
        `thread_pool_min=${threads}`,
        'thread_pool_max=2000',
        'thread_queue_limit=1000',
      ]
      return {
        program: 'varnishd',
        args: [
          ...['-F', '-j', 'none', '-f', join(folder, 'freshet.vcl'), '-a', `127.0.0.1:${port}`, '-T', 'none'],
          ...['-n', join(folder, 'work'), '-s', 'malloc,256m', ...parameters.flatMap(each => ['-p', each])],
        ],
      }
    },
  })
}

function shippedVcl(origin: string): string {
  const { host, port } = originOf(origin)
  return shippedConfiguration('varnish/freshet.vcl', {
    '.host = "127.0.0.1"': `.host = "${host}"`,
    '.port = "7700"': `.port = "${port}"`,
    [SECRET_SHIPPED]: SECRET,
  })
}

function bareVcl(origin: string, rules: string): string {
  const { host, port } = originOf(origin)
  return `vcl 4.1;\nbackend default { .host = "${host}"; .port = "${port}"; }\n${rules}\n`
}
