/** HAProxy, with the shipped configuration, in front of two servers. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningCache, startCache } from './cache-process.js'
import { shippedConfiguration } from './shipped-configuration.js'

export function startHaproxy(servers: readonly [port: number, port: number]): Promise<RunningCache<'haproxy'>> {
  return startCache({
    kind: 'haproxy',
    secret: '',
    prepare: (folder, port) => {
      const path = join(folder, 'freshet.cfg')
      const text = shippedConfiguration('haproxy/freshet.cfg', {
        'server a 127.0.0.1:7700': `server a 127.0.0.1:${servers[0]}`,
        'server b 127.0.0.1:7701': `server b 127.0.0.1:${servers[1]}`,
        'bind 127.0.0.1:8080': `bind 127.0.0.1:${port}`,
      })
      writeFileSync(path, text)
      return { program: '/usr/sbin/haproxy', args: ['-db', '-f', path] }
    },
  })
}
