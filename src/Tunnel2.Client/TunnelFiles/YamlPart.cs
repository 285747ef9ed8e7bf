using Tunnel2.Policies.Reading;
using YamlDotNet.Core;
using YamlDotNet.RepresentationModel;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>Makes parts of a policy of nodes of YAML. Pure.</summary>
internal static class YamlPart
{
    private const int Deepest = 8;

    /// <summary>How many parts there may be. A file can name a part again and again, and so become as large as it likes.</summary>
    private const int Most = 10_000;

    /// <summary>Reads a node.</summary>
    /// <param name="node">The node.</param>
    /// <param name="part">What it comes to.</param>
    /// <returns>The node that is none of the kinds that a policy has; null: none is.</returns>
    public static YamlNode? TryRead(YamlNode node, out PolicyNode? part)
    {
        int left = Most;
        return TryRead(node, 0, ref left, out part);
    }

    private static YamlNode? TryRead(YamlNode node, int depth, ref int left, out PolicyNode? part)
    {
        part = null;
        int line = (int)node.Start.Line;
        if (depth > Deepest || --left < 0)
        {
            return node;
        }

        switch (node)
        {
            case YamlScalarNode scalar:
                part = new PolicyNode(KindOf(scalar), scalar.Value ?? "", line);
                return null;
            case YamlSequenceNode list:
                part = new PolicyNode(PolicyNodeKind.List, "", line);
                foreach (YamlNode child in list.Children)
                {
                    if (TryRead(child, depth + 1, ref left, out PolicyNode? item) is { } mistake)
                    {
                        return mistake;
                    }

                    part.Items.Add(item!);
                }

                return null;
            case YamlMappingNode table:
                part = new PolicyNode(PolicyNodeKind.Table, "", line);
                foreach ((YamlNode name, YamlNode value) in table.Children)
                {
                    if (name is not YamlScalarNode { Value: { } text })
                    {
                        return name;
                    }

                    if (TryRead(value, depth + 1, ref left, out PolicyNode? member) is { } mistake)
                    {
                        return mistake;
                    }

                    part.Members.Add((text, member!));
                }

                return null;
            default:
                return node;
        }
    }

    private static PolicyNodeKind KindOf(YamlScalarNode scalar) =>
        scalar.Style != ScalarStyle.Plain ? PolicyNodeKind.Text
        : scalar.Value switch
        {
            null or "" or "null" or "~" => PolicyNodeKind.Null,
            "true" or "false" => PolicyNodeKind.Switch,
            { Length: <= 9 } text when text.All(char.IsAsciiDigit) && (text.Length == 1 || text[0] != '0') => PolicyNodeKind.Number,
            _ => PolicyNodeKind.Text,
        };
}
