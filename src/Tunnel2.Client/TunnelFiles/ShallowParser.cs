using YamlDotNet.Core;
using YamlDotNet.Core.Events;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>
/// Ends a file that is nested deeper than any file of tunnels, or that has a part within itself. The library makes a node by a call for
/// each level, and a process cannot continue after the end of its stack. One use per instance.
/// </summary>
/// <param name="parser">Reads the file.</param>
internal sealed class ShallowParser(IParser parser) : IParser
{
    private const int Deepest = 32;

    private readonly Stack<AnchorName> _open = new();

    /// <inheritdoc/>
    public ParsingEvent? Current => parser.Current;

    /// <inheritdoc/>
    public bool MoveNext()
    {
        if (!parser.MoveNext())
        {
            return false;
        }

        switch (parser.Current)
        {
            case AnchorAlias alias when _open.Contains(alias.Value):
                throw new YamlException(alias.Start, alias.End, $"the part '{alias.Value}' is within itself");
            case { NestingIncrease: > 0 } begin when _open.Count == Deepest:
                throw new YamlException(begin.Start, begin.End, $"it has more than {Deepest} levels");
            case { NestingIncrease: > 0 } begin:
                _open.Push((begin as NodeEvent)?.Anchor ?? AnchorName.Empty);
                break;
            case { NestingIncrease: < 0 }:
                _open.Pop();
                break;
            default:
                break;
        }

        return true;
    }
}
