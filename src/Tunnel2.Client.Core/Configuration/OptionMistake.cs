namespace Tunnel2.Client.Core.Configuration;

/// <summary>One thing that is wrong with the given options.</summary>
/// <param name="Flag">The flag, environment variable or <c>&lt;upstream&gt;</c> it is about.</param>
/// <param name="Message">What is wrong, in one line; never a token.</param>
internal sealed record OptionMistake(string Flag, string Message)
{
    /// <summary><c>flag: message</c>.</summary>
    public override string ToString() => $"{Flag}: {Message}";
}

/// <summary>Options, or all that is wrong with them.</summary>
/// <param name="Options">The options; null when there are mistakes.</param>
/// <param name="Mistakes">Every mistake found, in the order of the help text.</param>
internal sealed record AgentOptionsParseResult(AgentOptions? Options, IReadOnlyList<OptionMistake> Mistakes);
