namespace Tunnel2.Embed;

/// <summary>The options of a tunnel are wrong: the host's start fails with it before any service starts. It shows no secret.</summary>
public sealed class Tunnel2OptionsException : Exception
{
    internal Tunnel2OptionsException(IReadOnlyList<string> failures)
        : base(string.Join('\n', failures.Prepend(
            failures.Count == 1 ? "The tunnel's options have a mistake." : $"The tunnel's options have {failures.Count} mistakes.")))
    {
        Failures = failures;
    }

    /// <summary>Each mistake, in one line that begins with the option's name.</summary>
    public IReadOnlyList<string> Failures { get; }
}
