/** Which buckets are meant by names and patterns: `shop/products,lab/*`. A star stands for anything but a slash. */
import { FreshetError, type Key } from '@freshet/protocol'

const PATTERN = /^[a-z0-9_*-]+\/[a-z0-9_*-]+$/

/** Throws CONFIG_INVALID. */
export function readChoice(text: string | undefined): (bucket: Key) => boolean {
  if (text === undefined) return () => true
  const patterns = text.split(',').map(part => part.trim())
  const wrong = patterns.find(pattern => !PATTERN.test(pattern))
  if (wrong !== undefined) {
    throw new FreshetError(
      'CONFIG_INVALID',
      `--buckets takes names such as shop/products, or patterns such as 'shop/*', with commas between, not ${JSON.stringify(wrong)}.`,
    )
  }
  const expressions = patterns.map(pattern => new RegExp(`^${pattern.replaceAll('*', '[^/]*')}$`))
  return bucket => expressions.some(expression => expression.test(bucket))
}
