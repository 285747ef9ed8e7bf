using System.Buffers;
using System.Text;
using System.Text.Json;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Policies.Reading;
using Tunnel2.Protocol;
using YamlDotNet.Core;
using YamlDotNet.RepresentationModel;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>
/// Reads the form of a file of tunnels: its keys and their places. It continues after a mistake, to report all of them at once. It walks
/// the document's nodes instead of binding them to a class, because nodes know their lines and need no reflection.
/// </summary>
internal sealed class TunnelFileReader
{
    /// <summary>The key of the list of tunnels.</summary>
    private const string TunnelsKey = "tunnels";

    /// <summary>The key of a tunnel's policy.</summary>
    private const string PolicyKey = "policy";

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
        var parser = new ShallowParser(new Parser(new StringReader(text)));
        try
        {
            var stream = new YamlStream();
            stream.Load(parser);
            reader.ReadDocuments(stream.Documents);
        }
        catch (YamlException exception) when (exception.Message.Contains(" tab", StringComparison.Ordinal)
            && FindTab(text, exception.Start.Line) is > 0 and var line)
        {
            // The parser reports the beginning of the part that has the tab, often the first line of the file.
            reader._mistakes.Add(new TunnelFileMistake(line, "is not YAML: a tab is where the line is indented; use spaces"));
        }
        catch (YamlException exception)
        {
            // The parser reports the beginning of the part that it could not read; people look for its end.
            reader.Report(
                exception.End.Line > exception.Start.Line ? exception.End : exception.Start,
                $"is not YAML: {exception.Message.ReplaceLineEndings(" ")}");
        }
        catch (Exception exception) when (exception is not OutOfMemoryException)
        {
            // The library has other exceptions for some such files, without a place: it is after the last part that was read.
            reader.Report(
                parser.Current?.End ?? Mark.Empty,
                "is not YAML: it cannot be read beyond this line; often a bracket or a brace has no end");
        }

        return new TunnelFile(reader._top, reader._tunnels, [.. reader._mistakes.OrderBy(static mistake => mistake.Line)]);
    }

    /// <summary>The first line, from one on, that is indented by a tab; 0: none.</summary>
    private static int FindTab(string text, long from)
    {
        int number = 0;
        foreach (ReadOnlySpan<char> line in text.AsSpan().EnumerateLines())
        {
            ReadOnlySpan<char> indent = line[..^line.TrimStart(" \t").Length];
            if (++number >= from && indent.Contains('\t') && indent.Length < line.Length)
            {
                return number;
            }
        }

        return 0;
    }

    private void ReadDocuments(IList<YamlDocument> documents)
    {
        if (documents.Count == 0 || documents[0].RootNode is not YamlMappingNode root)
        {
            Report(
                documents.Count == 0 ? Mark.Empty : documents[0].RootNode.Start,
                $"there is no '{TunnelsKey}:' with a list of tunnels below it");
            return;
        }

        if (documents.Count > 1)
        {
            Report(documents[1].RootNode.Start, "a second document ('---') is not read");
        }

        bool hasTunnels = false;
        foreach ((YamlNode keyNode, YamlNode value) in root.Children)
        {
            if (keyNode is YamlScalarNode { Value: TunnelsKey })
            {
                hasTunnels = true;
                ReadTunnels(value);
            }
            else
            {
                ReadKey(_top, AgentSettingPlaces.Top, keyNode, value);
            }
        }

        if (!hasTunnels)
        {
            Report(root.Start, $"there is no '{TunnelsKey}:' with a list of tunnels below it");
        }
    }

    private void ReadTunnels(YamlNode node)
    {
        if (node is not YamlSequenceNode { Children.Count: > 0 } list)
        {
            Report(node.Start, $"{TunnelsKey}: has no list below it; write '- name: web' and, under it, 'upstream: 3000'");
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
                ReadKey(tunnel, AgentSettingPlaces.Tunnel, keyNode, value);
            }

            _tunnels.Add(tunnel);
        }
    }

    private void ReadKey(TunnelFileSection section, AgentSettingPlaces place, YamlNode keyNode, YamlNode value)
    {
        string name = (keyNode as YamlScalarNode)?.Value ?? "";
        AgentSetting? key = AgentSettingTable.All.FirstOrDefault(known => known.Name == name
            && known.IsAt(AgentSettingPlaces.Top | AgentSettingPlaces.Tunnel));
        if (key is null)
        {
            string? near = NearestWord.Find(name.Replace('_', '-'), NamesAt(place));
            Report(keyNode.Start, near is null
                ? $"'{name}' is not a key here; these are: {string.Join(", ", NamesAt(place))}"
                : $"'{name}' is not a key here, did you mean '{near}'?");
        }
        else if (!key.IsAt(place))
        {
            Report(keyNode.Start, place == AgentSettingPlaces.Top
                ? $"{name}: belongs below a tunnel"
                : $"{name}: belongs to the top of the file, for all tunnels");
        }
        else if (key.IsRepeatable && value is YamlSequenceNode { Children.Count: > 0 } list
            && !(key.IsTable && list.Children.Any(static child => child is YamlMappingNode)))
        {
            ReadList(section, key, list, (int)keyNode.Start.Line);
        }
        else if (key.IsTable && value is YamlSequenceNode or YamlMappingNode)
        {
            ReadTable(section, key, value, (int)keyNode.Start.Line);
        }
        else if (value is not YamlScalarNode scalar)
        {
            Report(value.Start, value is YamlSequenceNode { Children.Count: 0 } ? $"{name}: lacks its value" : $"{name}: takes one value");
        }
        else if (string.IsNullOrEmpty(scalar.Value))
        {
            Report(keyNode.Start, $"{name}: lacks its value");
        }
        else if (!key.IsSwitch || scalar.Value is "true" or "false")
        {
            section.Values[key] = new TunnelFileValue(scalar.Value, (int)keyNode.Start.Line);
        }
        else
        {
            Report(value.Start, $"{name}: is neither true nor false");
        }
    }

    /// <summary>Keeps a part of the file as JSON. What is wrong with it is found where the setting is read.</summary>
    private void ReadTable(TunnelFileSection section, AgentSetting key, YamlNode value, int line)
    {
        if (YamlPart.TryRead(value, out PolicyNode? node) is { } mistake)
        {
            Report(mistake.Start, $"{key.Name}: has a part that is neither a text, a number, a list nor a table, or is too deep");
            return;
        }

        // Here the lines of the rows are known.
        if (key.Name == PolicyKey && PolicyReader.Read(node!).Mistakes is { Count: > 0 } mistakes)
        {
            foreach (var ofLine in mistakes.GroupBy(static mistake => mistake.Line))
            {
                string[] words = [.. ofLine.Select(static one => one.Row > 0 ? $"row {one.Row}: {one.Message}" : one.Message)];
                _mistakes.Add(new TunnelFileMistake(Math.Max(1, ofLine.Key), $"{key.Name}: {string.Join("; ", words)}"));
            }

            return;
        }

        var text = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(text))
        {
            node!.WriteTo(json);
        }

        section.Values[key] = new TunnelFileValue(Encoding.UTF8.GetString(text.WrittenSpan), line);
    }

    private void ReadList(TunnelFileSection section, AgentSetting key, YamlSequenceNode list, int line)
    {
        string[] values = [.. list.Children.Select(static child => (child as YamlScalarNode)?.Value ?? "")];
        if (values.Any(static value => value.Length == 0 || value.Contains('\n')))
        {
            Report(list.Start, $"{key.Name}: has a list with an item that is not one value");
        }
        else
        {
            section.Values[key] = new TunnelFileValue(string.Join('\n', values), line);
        }
    }

    private static IEnumerable<string> NamesAt(AgentSettingPlaces place)
    {
        IEnumerable<string> names = AgentSettingTable.All.Where(setting => setting.IsAt(place)).Select(static setting => setting.Name);
        return place == AgentSettingPlaces.Top ? names.Append(TunnelsKey) : names;
    }

    private void Report(Mark where, string message) => _mistakes.Add(new TunnelFileMistake(Math.Max(1, (int)where.Line), message));
}
