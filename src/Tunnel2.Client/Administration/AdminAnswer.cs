using System.Text.Json;

namespace Tunnel2.Client.Administration;

/// <summary>What came of a call: an answer, or why there is none. Immutable.</summary>
/// <param name="Json">The answer; undefined where there is none.</param>
/// <param name="Problem">Why there is none, in words for people without a secret; null: there is one.</param>
/// <param name="ExitCode">The program's exit code.</param>
internal readonly record struct AdminAnswer(JsonElement Json, string? Problem, int ExitCode);
