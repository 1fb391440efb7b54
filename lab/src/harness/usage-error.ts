/** A command line that cannot be run. Its message is for the user who typed it, and is shown without a stack trace. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
