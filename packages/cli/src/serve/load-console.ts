/** The console, and the doctor that it can run, if the console is enabled; loaded only then. */
import type { Doctor, PageFile } from '@freshet/server'

export async function loadConsole({ console }: { readonly console: boolean }): Promise<{
  console?: Readonly<Record<string, PageFile>>
  doctor?: Doctor
}> {
  if (!console) return {}
  const { listConsoleFiles } = await import('@freshet/console')
  // The doctor loads the client as well, and is rarely used.
  const doctor: Doctor = async task => (await import('../doctor/examine-cache.js')).examineCache(task)
  return { console: listConsoleFiles(), doctor }
}
