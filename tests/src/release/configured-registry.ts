/** The registry that this machine takes packages from. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Its address, without a slash at the end. */
export async function configuredRegistry(): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', ['config', 'get', 'registry', '--workspaces=false'])
  return stdout.trim().replace(/\/$/, '')
}
