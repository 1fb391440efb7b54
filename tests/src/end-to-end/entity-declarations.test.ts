/** What the types of declarations refuse (if they stop, `tsc` fails here), and what is refused at run time. */
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

test('every reference is declared with its target, and cascades follow references only', () => {
  // @ts-expect-error: the references are missing
  expect(() => entity<Node>('shop/nodes')).not.toThrow()
  // @ts-expect-error: one reference is missing
  expect(() => entity<Node>('shop/nodes', { references: { parent: () => Node } })).not.toThrow()
  // @ts-expect-error: the references of a class are missing
  expect(() => entity(Link, 'shop/links')).not.toThrow()
  // @ts-expect-error: the target is of another class
  expect(() => entity(Link, 'shop/links', { references: { next: () => plain } })).not.toThrow()
  const cascade = { count: ['persist'] } as const
  // @ts-expect-error: not a reference, which is also refused without types
  expect(() => entity(Link, 'shop/links', { references: { next: () => Link }, cascade })).toThrow(
    'count, which is not a ref',
  )
  expect(
    entity(Link, 'shop/links', { references: { next: () => Link }, beforeUpdate: link => void link.count++ }),
  ).toBe(Link)
})

test('a bucket has a name that the server accepts', () => {
  expect(() => entity(Link, 'links', { references: { next: () => Link } })).toThrow(
    expect.objectContaining({ code: 'NAME_INVALID' }),
  )
})
