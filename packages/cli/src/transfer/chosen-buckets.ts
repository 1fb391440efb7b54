/** Selects buckets by names and patterns: `shop/products,lab/*`. A star stands for anything but a slash. */
import { FreshetError, type Key } from '@freshet/protocol'

const PATTERN = /^[a-z0-9_*-]+\/[a-z0-9_*-]+$/

/** Throws CONFIG_INVALID. */
export function readChoice(text: string | undefined): (bucket: Key) => boolean {
  const expressions = expressionsIn(text)
  return bucket => expressions.some(([, expression]) => expression.test(bucket))
}

/** Throws CONFIG_INVALID, also if a name or pattern matches none of them. */
export function chooseBuckets<B extends { readonly name: Key }>(all: readonly B[], text: string | undefined): B[] {
  const expressions = expressionsIn(text)
  const idle = expressions.find(([, expression]) => !all.some(({ name }) => expression.test(name)))
  if (text !== undefined && idle !== undefined) {
    const names = all.map(({ name }) => name).join(', ') || 'none'
    throw new FreshetError(
      'CONFIG_INVALID',
      `There is no bucket ${idle[0]}. Correct --buckets. The buckets are: ${names}.`,
    )
  }
  return all.filter(({ name }) => expressions.some(([, expression]) => expression.test(name)))
}

function expressionsIn(text = '*/*'): readonly (readonly [pattern: string, expression: RegExp])[] {
  const patterns = text.split(',').map(part => part.trim())
  const wrong = patterns.find(pattern => !PATTERN.test(pattern))
  if (wrong !== undefined) {
    throw new FreshetError(
      'CONFIG_INVALID',
      `--buckets takes names such as shop/products, or patterns such as 'shop/*', separated by commas, not ${JSON.stringify(wrong)}.`,
    )
  }
  return patterns.map(pattern => [pattern, new RegExp(`^${pattern.replaceAll('*', '[^/]*')}$`)])
}
