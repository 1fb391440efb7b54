/** What the types of declarations refuse (`tsc` fails here if they stop to), and what is refused when a program runs. */
import {
  type EntityManager,
  entity,
  type FieldsClass,
  type Reference,
  type WithReferences,
} from '@freshet/client/entities'
import { expect, expectTypeOf, test } from 'vitest'

interface NodeFields {
  name: string
  parent: string | null
  children?: string[]
}
interface Node extends WithReferences<NodeFields, { parent: Node; children: Node }> {}
const Node: FieldsClass<Node> = entity<Node>('shop/nodes', {
  references: { parent: () => Node, children: () => Node },
})

class Link {
  count = 1
  next: Reference<Link> | null = null
}
const plain = entity<{ name: string }>('shop/plain')

test('ids of a generated type become references, as optional as they were', () => {
  expectTypeOf<Node['parent']>().toEqualTypeOf<Reference<Node> | null>()
  expectTypeOf<Node['children']>().toEqualTypeOf<Reference<Node>[] | undefined>()
  expectTypeOf<EntityManager['find']>().toBeCallableWith(Node, '1')
  expectTypeOf(new plain({ name: 'a' }).name).toBeString()
})

test('every reference is declared, for what it refers to, and cascades go along references only', () => {
  // @ts-expect-error: the references are missing
  expect(() => entity<Node>('shop/nodes')).not.toThrow()
  // @ts-expect-error: one of them is
  expect(() => entity<Node>('shop/nodes', { references: { parent: () => Node } })).not.toThrow()
  // @ts-expect-error: also for a class
  expect(() => entity(Link, 'shop/links')).not.toThrow()
  // @ts-expect-error: these are of another class
  expect(() => entity(Link, 'shop/links', { references: { next: () => plain } })).not.toThrow()
  const cascade = { count: ['persist'] } as const
  // @ts-expect-error: this is no reference, which shows without types too
  expect(() => entity(Link, 'shop/links', { references: { next: () => Link }, cascade })).toThrow(
    'count, which is no ref',
  )
  expect(
    entity(Link, 'shop/links', { references: { next: () => Link }, beforeUpdate: link => void link.count++ }),
  ).toBe(Link)
})

test('a bucket has a name that the server takes', () => {
  expect(() => entity(Link, 'links', { references: { next: () => Link } })).toThrow(
    expect.objectContaining({ code: 'NAME_INVALID' }),
  )
})
