namespace Tunnel2.Policies.Reading;

/// <summary>What is wrong with a policy. It shows no value that may be a secret.</summary>
/// <param name="Row">The row's number, from 1; 0: it is not in a row.</param>
/// <param name="Line">The line, from 1.</param>
/// <param name="Message">What is wrong, in one line.</param>
internal sealed record PolicyMistake(int Row, int Line, string Message)
{
    /// <summary>Such as <c>row 3 (line 12): has no action</c>.</summary>
    public override string ToString() => Row > 0
        ? FormattableString.Invariant($"row {Row} (line {Line}): {Message}")
        : FormattableString.Invariant($"line {Line}: {Message}");
}

/// <summary>What a text came to: a policy, or everything that is wrong.</summary>
/// <param name="Policy">The policy; null when there are mistakes.</param>
/// <param name="Mistakes">All mistakes, in the order of rows.</param>
internal sealed record PolicyReading(Tables.Policy? Policy, IReadOnlyList<PolicyMistake> Mistakes);
