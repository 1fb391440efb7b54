/**
 * What a package exports, by its sources: names, signatures, doc comments. The compiler reads them; its interface for programs is called
 * unstable, and is used here alone.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import {
  isClassDeclaration,
  isConstructorDeclaration,
  isExportSpecifier,
  isFunctionDeclaration,
  isGetAccessorDeclaration,
  isIdentifier,
  isInterfaceDeclaration,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
} from 'typescript/unstable/ast/is'
import { API, type Checker, type Project, type Symbol as TsSymbol } from 'typescript/unstable/sync'

/** One of the paths that a package can be imported by. */
export interface Door {
  /** `@freshet/client/entities` */
  readonly name: string
  readonly exports: readonly Exported[]
}

export interface Exported {
  readonly name: string
  readonly kind: 'function' | 'class' | 'interface' | 'type'
  /** Its doc comment, or nothing. */
  readonly about: string
  /** How it is called, or what it is; of a function that can be called in several ways, each. */
  readonly signatures: readonly string[]
  readonly members: readonly Member[]
  /** What it extends first. */
  readonly base?: string
  /** Of the source, from the folder of all packages: `client/src/connect.ts`. */
  readonly file: string
}

export interface Member {
  readonly name: string
  readonly about: string
  readonly signatures: readonly string[]
}

/** By the `exports` of its package.json. `packages` is the folder that it lies in; `doors`, which of the exports, or all of them. */
export function readExports(packages: string, name: string, doors?: readonly string[]): readonly Door[] {
  const folder = join(packages, name)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const api = new API({ cwd: folder })
  try {
    const config = join(folder, 'tsconfig.json')
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
    if (project === undefined) throw new Error(`${config} is no project that the compiler can open.`)
    const wanted = Object.entries(manifest.exports).filter(([door]) => doors?.includes(door) ?? true)
    return wanted.map(([door, { types }]) => {
      const source = join(folder, types.replace('dist/', 'src/').replace('.d.ts', '.ts'))
      return { name: manifest.name + door.slice(1), exports: exportsOf(project, source, packages) }
    })
  } finally {
    api.close()
  }
}

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, { readonly types: string }>>
}

function exportsOf({ program, checker }: Project, source: string, packages: string): readonly Exported[] {
  const file = existsSync(source) ? program.getSourceFile(source) : undefined
  const module = file && checker.getSymbolAtLocation(file)
  if (module === undefined) throw new Error(`${source} exports nothing.`)
  return checker.getExportsOfModule(module).map(exported => {
    const symbol = checker.getAliasedSymbol(exported)
    const declarations = symbol.declarations.map(handle => handle.resolve()!)
    const [first] = declarations
    if (first === undefined) throw new Error(`${source} exports ${exported.name}, which is declared nowhere.`)
    return {
      name: exported.name,
      about: checker.getDocumentationCommentOfSymbol(symbol),
      ...describe(declarations as [Node, ...Node[]], checker, isTypeAlone(exported)),
      file: symbol.declarations[0]!.path.slice(packages.length).replace(/^\//, ''),
    }
  })
}

/** `export type { X }`: nobody outside can make one. */
function isTypeAlone(exported: TsSymbol): boolean {
  const specifier = exported.declarations[0]?.resolve()
  if (specifier === undefined || !isExportSpecifier(specifier)) return false
  return specifier.isTypeOnly || /^export\s+type\b/.test(specifier.parent.parent.getText())
}

type Description = Pick<Exported, 'kind' | 'signatures' | 'members' | 'base'>

function describe(declarations: readonly [Node, ...Node[]], checker: Checker, isType: boolean): Description {
  const [first] = declarations
  if (isFunctionDeclaration(first)) {
    const ways = withoutImplementation(declarations)
    return { kind: 'function', signatures: ways.map(way => callOf(way, 'function ')), members: [] }
  }
  if (isClassDeclaration(first) || isInterfaceDeclaration(first)) {
    const kind = isClassDeclaration(first) ? 'class' : 'interface'
    const heritage = (first.heritageClauses ?? []).map(clause => ` ${clause.getText()}`)
    const signature = `${kind} ${first.name!.getText()}${typeParametersOf(first)}${heritage.join('')}`
    const base = first.heritageClauses?.[0]?.types[0]?.expression.getText()
    const members = membersOf(first.members, checker, isType)
    return { kind, signatures: [signature], members, ...(base === undefined ? {} : { base }) }
  }
  return { kind: 'type', signatures: [first.getText().replace(/^export /, '')], members: [] }
}

const HIDDEN: readonly SyntaxKind[] = [SyntaxKind.PrivateKeyword, SyntaxKind.ProtectedKeyword]

/** In their order, those of one name together. */
function membersOf(members: readonly Node[], checker: Checker, isType: boolean): readonly Member[] {
  const byName = new Map<string, Node[]>()
  for (const member of members) {
    const { name, modifiers } = member as { name?: Node; modifiers?: readonly Node[] }
    const isHidden = name?.getText().startsWith('#') || modifiers?.some(({ kind }) => HIDDEN.includes(kind))
    if (isHidden || (isConstructorDeclaration(member) && isType)) continue
    const key = name?.getText() ?? 'new'
    byName.set(key, [...(byName.get(key) ?? []), member])
  }
  return [...byName].flatMap(([name, nodes]) => {
    const symbol = checker.getSymbolAtLocation((nodes[0] as { name?: Node }).name ?? nodes[0]!)
    if (symbol && checker.getJsDocTagsOfSymbol(symbol).some(tag => tag.name === 'internal')) return []
    const about = symbol === undefined ? '' : checker.getDocumentationCommentOfSymbol(symbol)
    return [{ name, about, signatures: withoutImplementation(nodes).map(memberText) }]
  })
}

/** Of what can be called in several ways, the last declaration is none of them. */
function withoutImplementation(nodes: readonly Node[]): readonly Node[] {
  const isWay = (node: Node) => (node as { body?: Node }).body === undefined
  return nodes.length > 1 && nodes.some(isWay) ? nodes.filter(isWay) : nodes
}

function memberText(member: Node): string {
  const words = (member as { modifiers?: readonly Node[] }).modifiers?.map(({ kind }) => kind) ?? []
  const before = words.includes(SyntaxKind.StaticKeyword) ? 'static ' : ''
  if (isConstructorDeclaration(member)) return callOf(member, 'new ')
  if (isMethodDeclaration(member) || isMethodSignatureDeclaration(member)) return callOf(member, before)
  if (isGetAccessorDeclaration(member)) return `readonly ${member.name.getText()}: ${textOf(member.type!)}`
  if (isPropertyDeclaration(member) || isPropertySignatureDeclaration(member)) {
    // Almost all of an interface is, which says little there.
    const isTold = isPropertyDeclaration(member) && words.includes(SyntaxKind.ReadonlyKeyword)
    const readonly = isTold ? 'readonly ' : ''
    const mark = member.postfixToken?.kind === SyntaxKind.QuestionToken ? '?' : ''
    return `${before}${readonly}${member.name.getText()}${mark}: ${member.type ? textOf(member.type) : 'unknown'}`
  }
  return textOf(member)
}

interface Callable {
  readonly name?: Node
  readonly parameters: readonly Node[]
  readonly type?: Node
}

function callOf(node: Node, before: string): string {
  const { name, parameters, type } = node as unknown as Callable
  const named = name?.getText() ?? (node.parent as { name?: Node }).name?.getText() ?? ''
  const result = type === undefined ? '' : `: ${textOf(type)}`
  return `${before}${named}${typeParametersOf(node)}(${parameters.map(parameterText).join(', ')})${result}`
}

/** As callers see it: what is taken apart or has a value of its own is an option with a type. */
function parameterText(parameter: Node): string {
  const { name, type, initializer, questionToken, dotDotDotToken } = parameter as unknown as {
    readonly name: Node
    readonly type?: Node
    readonly initializer?: Node
    readonly questionToken?: Node
    readonly dotDotDotToken?: Node
  }
  if (type === undefined) return textOf(parameter)
  const shown = isIdentifier(name) ? name.getText() : 'options'
  return `${dotDotDotToken ? '...' : ''}${shown}${initializer || questionToken ? '?' : ''}: ${textOf(type)}`
}

function typeParametersOf(node: Node): string {
  const { typeParameters } = node as { typeParameters?: readonly Node[] }
  return typeParameters === undefined ? '' : `<${typeParameters.map(textOf).join(', ')}>`
}

/** On one line, unless comments stand between its lines. */
function textOf(node: Node): string {
  const text = node.getText()
  return /\/[/*]/.test(text) ? text : text.replaceAll(/\s+/g, ' ')
}
