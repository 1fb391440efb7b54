/** The commands that have a folder of their own, in the order in which they are listed. */

import { rulesCommand } from '../access/rules-command.js'
import { tokenCommand } from '../access/token-command.js'
import { backupCommand } from '../backup/backup-command.js'
import { benchCommand } from '../bench/bench-command.js'
import { checkCommand } from '../check/check-command.js'
import { copyCommand } from '../copy/copy-command.js'
import { doctorCommand } from '../doctor/doctor-command.js'
import { dropCommand } from '../drop/drop-command.js'
import { exportCommand } from '../export/export-command.js'
import { genCommand } from '../gen/gen-command.js'
import { importCommand } from '../import/import-command.js'
import { initCommand } from '../init/init-command.js'
import { migrateCommand } from '../migrate/migrate-command.js'
import { restoreCommand } from '../restore/restore-command.js'
import { ringCommand } from '../ring/ring-command.js'
import { shardsCommand } from '../shards/shards-command.js'
import { tablesCommand } from '../tables/tables-command.js'
import type { Command } from '../terminal/command.js'

export const COMMANDS: readonly Command[] = [
  checkCommand,
  doctorCommand,
  migrateCommand,
  genCommand,
  copyCommand,
  tokenCommand,
  rulesCommand,
  exportCommand,
  importCommand,
  dropCommand,
  backupCommand,
  restoreCommand,
  initCommand,
  tablesCommand,
  shardsCommand,
  ringCommand,
  benchCommand,
]
