using Tunnel2.Protocol;
using YamlDotNet.Core;
using YamlDotNet.RepresentationModel;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>
/// Reads the form of a file of tunnels: its keys and where they stand. Goes on after a mistake, so that all of them are told at once. Walks
/// the document's nodes instead of binding them to a class: nodes know their lines, and need no reflection.
/// </summary>
internal sealed class TunnelFileReader
{
    private readonly TunnelFileSection _top = new(1);
    private readonly List<TunnelFileSection> _tunnels = [];
    private readonly List<TunnelFileMistake> _mistakes = [];

    private TunnelFileReader()
    {
    }

    /// <summary>Reads a file's text.</summary>
    public static TunnelFile Read(string text)
    {
        var reader = new TunnelFileReader();
        try
        {
            var stream = new YamlStream();
            stream.Load(new StringReader(text));
            reader.ReadDocuments(stream.Documents);
        }
        catch (YamlException exception)
        {
            // A fault begins where the parser began to read what it could not make sense of; people look for its end.
            reader.Report(
                exception.End.Line > exception.Start.Line ? exception.End : exception.Start,
                $"is not YAML: {exception.Message.ReplaceLineEndings(" ")}");
        }

        return new TunnelFile(reader._top, reader._tunnels, [.. reader._mistakes.OrderBy(static mistake => mistake.Line)]);
    }

    private void ReadDocuments(IList<YamlDocument> documents)
    {
        if (documents.Count == 0 || documents[0].RootNode is not YamlMappingNode root)
        {
            Report(
                documents.Count == 0 ? Mark.Empty : documents[0].RootNode.Start,
                $"there is no '{TunnelFileKey.Tunnels}:' with a list of tunnels below it");
            return;
        }

        if (documents.Count > 1)
        {
            Report(documents[1].RootNode.Start, "a second document ('---') is not read");
        }

        bool hasTunnels = false;
        foreach ((YamlNode keyNode, YamlNode value) in root.Children)
        {
            if (keyNode is YamlScalarNode { Value: TunnelFileKey.Tunnels })
            {
                hasTunnels = true;
                ReadTunnels(value);
            }
            else
            {
                ReadKey(_top, TunnelFilePlace.Top, keyNode, value);
            }
        }

        if (!hasTunnels)
        {
            Report(root.Start, $"there is no '{TunnelFileKey.Tunnels}:' with a list of tunnels below it");
        }
    }

    private void ReadTunnels(YamlNode node)
    {
        if (node is not YamlSequenceNode { Children.Count: > 0 } list)
        {
            Report(node.Start, $"{TunnelFileKey.Tunnels}: has no list below it; write '- name: web' and, under it, 'upstream: 3000'");
            return;
        }

        foreach (YamlNode item in list.Children)
        {
            if (item is not YamlMappingNode mapping)
            {
                Report(item.Start, "a tunnel is written as '- name: web' and, under it, 'upstream: 3000'");
                continue;
            }

            var tunnel = new TunnelFileSection((int)item.Start.Line);
            foreach ((YamlNode keyNode, YamlNode value) in mapping.Children)
            {
                ReadKey(tunnel, TunnelFilePlace.Tunnel, keyNode, value);
            }

            _tunnels.Add(tunnel);
        }
    }

    private void ReadKey(TunnelFileSection section, TunnelFilePlace place, YamlNode keyNode, YamlNode value)
    {
        string name = (keyNode as YamlScalarNode)?.Value ?? "";
        TunnelFileKey? key = TunnelFileKey.All.FirstOrDefault(known => known.Name == name);
        if (key is null)
        {
            string? near = NearestWord.Find(name.Replace('_', '-'), TunnelFileKey.NamesAt(place));
            string help = near is null ? $"; these are: {string.Join(", ", TunnelFileKey.NamesAt(place))}" : $", did you mean '{near}'?";
            Report(keyNode.Start, $"'{name}' is not a key here{help}");
        }
        else if ((key.Place & place) == 0)
        {
            Report(
                keyNode.Start,
                place == TunnelFilePlace.Top
                    ? $"{name}: belongs below a tunnel"
                    : $"{name}: belongs to the top of the file, for all tunnels");
        }
        else if (value is not YamlScalarNode scalar)
        {
            Report(value.Start, $"{name}: takes one value");
        }
        else if (string.IsNullOrEmpty(scalar.Value))
        {
            Report(keyNode.Start, $"{name}: lacks its value");
        }
        else if (!key.IsSwitch)
        {
            section.Values[key] = new TunnelFileValue(scalar.Value, (int)keyNode.Start.Line);
        }
        else if (scalar.Value is "true" or "false")
        {
            section.Values[key] = new TunnelFileValue(scalar.Value, (int)keyNode.Start.Line);
        }
        else
        {
            Report(value.Start, $"{name}: is neither true nor false");
        }
    }

    private void Report(Mark where, string message) => _mistakes.Add(new TunnelFileMistake(Math.Max(1, (int)where.Line), message));
}
