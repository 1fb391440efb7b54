/** Declares `freshet doctor`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readDoctorLine } from './doctor-line.js'

const HELP = `freshet doctor: what do the caches between here and a server do, and is it safe? docs/doctor.md

  freshet doctor --through https://shop.example
  freshet doctor --through https://shop.example --server http://10.0.0.5:7700
  freshet doctor --store redis://localhost      what could an engine lose, by its settings?
  FRESHET_STORE_FILE=/run/secrets/store freshet doctor      the same; a password is in no command line
  freshet doctor --data .freshet                the same for an embedded store, and is it damaged?

  --through URL | --store URL | --data FOLDER (without them, FRESHET_STORE, or a file: FRESHET_STORE_FILE)
  --server URL (past the caches), --purge-secret TEXT (FRESHET_PURGE_SECRET), --bucket NAME, --json
  --token TOKEN (FRESHET_TOKEN): for its writes, where the server has rules. Its reads are everybody's, so the rules must let
  anyone read its buckets: bucket freshet-doctor/*, with the line: read, list
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
