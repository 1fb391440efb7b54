/** The demo page, if it is enabled; loaded only then. */
import type { PageFile } from '@freshet/server'

export async function loadPage({ page }: { readonly page: boolean }): Promise<{
  page?: Readonly<Record<string, PageFile>>
}> {
  if (!page) return {}
  const { listPageFiles } = await import('../page/page-files.js')
  return { page: listPageFiles() }
}
