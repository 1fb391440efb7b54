/** Declares `freshet doctor`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readDoctorLine } from './doctor-line.js'

const HELP = `freshet doctor: tests what the caches between here and a server do, and whether it is safe; docs/guides/doctor.md

  freshet doctor --through https://shop.example
  freshet doctor --through https://shop.example --server http://10.0.0.5:7700
  freshet doctor --store redis://localhost      reports what the engine could lose, given its settings
  FRESHET_STORE_FILE=/run/secrets/store freshet doctor      the same, without a password on the command line
  freshet doctor --data .freshet                the same for an embedded store, and whether it is damaged

  --through URL | --store URL | --data FOLDER   what to examine (default: FRESHET_STORE or FRESHET_STORE_FILE)
  --server URL          the server's own address, bypassing the caches
  --purge-secret TEXT   the secret for purges (default: FRESHET_PURGE_SECRET)
  --bucket NAME         the bucket for the doctor's objects (default: a new one)
  --token TOKEN         an access token for its writes, if the server has rules (default: FRESHET_TOKEN). It reads without
                        a token, so the rules must let anyone read its buckets:
                        bucket freshet-doctor/*, with the line: read, list
  --json                print JSON
Exit codes: 0 readers are safe, 1 something is fatal or unsafe, 2 it could not be examined, 130 stopped.
`

export const doctorCommand: Command = createCommand({
  name: 'doctor',
  help: HELP,
  readLine: readDoctorLine,
  run: async line => {
    if ('store' in line) return (await import('./examine-store.js')).examineStore(line)
    return (await import('./run-doctor.js')).runDoctor(line)
  },
})
