/** The console and the doctor that it can send, if it is wanted; loaded only then. */
import type { Doctor, PageFile } from '@freshet/server'

export async function loadConsole({ console }: { readonly console: boolean }): Promise<{
  console?: Readonly<Record<string, PageFile>>
  doctor?: Doctor
}> {
  if (!console) return {}
  const { listConsoleFiles } = await import('@freshet/console')
  // The doctor brings the client with it, and is hardly ever asked for.
  const doctor: Doctor = async task => (await import('../doctor/examine-cache.js')).examineCache(task)
  return { console: listConsoleFiles(), doctor }
}
