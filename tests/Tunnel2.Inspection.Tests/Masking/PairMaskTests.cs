using System.Text;
using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Masking;

/// <summary>A name and its value as two members of one object, and maps of YAML within a line.</summary>
public sealed class PairMaskTests
{
    [Theory]
    [InlineData("""{"name":"password","value":"SECRET"}""", """{"name":"password","value":"***"}""")]
    [InlineData(
        """[{"name":"a","value":"b"},{"name":"sid","value":"SECRET"}]""",
        """[{"name":"a","value":"b"},{"name":"sid","value":"***"}]""")]
    [InlineData(
        """[{"key":"token","value":"SECRET"},{"key":"a","value":"b"}]""",
        """[{"key":"token","value":"***"},{"key":"a","value":"b"}]""")]
    [InlineData("""{"Name":"DB_PASSWORD","Value":"SECRET"}""", """{"Name":"DB_PASSWORD","Value":"***"}""")]
    [InlineData("""{"value":"SECRET","name":"token"}""", """{"value":"***","name":"token"}""")]
    [InlineData("""{"value" : "SECRET" , "type":"text", "key":"token"}""", """{"value" : "***" , "type":"text", "key":"token"}""")]
    [InlineData("""{"value":{"stringValue":"SECRET"},"key":"token"}""", """{"value":"***","key":"token"}""")]
    [InlineData("""{"value":12345 ,"key":"pin"}""", """{"value":"***" ,"key":"pin"}""")]
    [InlineData("""{"value":["SECRET","SECRET"],"key":"token"}""", """{"value":"***","key":"token"}""")]
    [InlineData("""{"key":"token","value":{"stringValue":"SECRET"}}""", """{"key":"token","value":"***"}""")]
    [InlineData(
        """{"name":"token","a":{"name":"x","value":"y"},"value":"SECRET"}""",
        """{"name":"token","a":{"name":"x","value":"y"},"value":"***"}""")]
    [InlineData("""{"value":{"value":"SECRET","name":"sid"},"name":"a"}""", """{"value":{"value":"***","name":"sid"},"name":"a"}""")]
    [InlineData("""{"value":{"value":"SECRET","name":"sid"},"name":"token"}""", """{"value":"***","name":"token"}""")]
    [InlineData("""{"name":"tok\u0065n","val\u0075e":"SECRET"}""", """{"name":"tok\u0065n","val\u0075e":"***"}""")]
    [InlineData("""{"a":"{\"name\":\"token\",\"value\":\"SECRET\"}"}""", """{"a":"{\"name\":\"token\",\"value\":\"***\"}"}""")]
    [InlineData("""{"name":"user","value":"b"}""", null)]
    [InlineData("""[{"name":"token"},{"value":"b"}]""", null)]
    [InlineData("""{"name":"token","a":{"value":"b"}}""", null)]
    [InlineData("""{"value":"b","a":{"name":"token"}}""", null)]
    [InlineData("""{"value":"b"},{"name":"token"}""", null)]
    [InlineData("""{"name":"token","values":"b","valueFrom":"arn"}""", null)]
    [InlineData("""{"name":["token"],"value":"b"}""", null)]
    [InlineData("""{"name":"Access-Control-Allow-Credentials","value":"true"}""", null)]
    public void Json(string json, string? shown) =>
        Assert.Equal(shown ?? json, Encoding.UTF8.GetString(JsonMask.Apply(Encoding.UTF8.GetBytes(json), MaskingRules.BuiltIn, out _)));

    [Theory]
    [InlineData(
        "env:\n- name: A_PASSWORD\n  value: SECRET\n- name: USER\n  value: bob",
        "env:\n- name: A_PASSWORD\n  value: ***\n- name: USER\n  value: bob")]
    [InlineData(
        "- name: \"TOKEN\" # of ours\n  value: >-\n    SECRET\n    SECRET\n- a: b",
        "- name: \"TOKEN\" # of ours\n  value: ***\n    ***\n    ***\n- a: b")]
    [InlineData("- name: 'TOKEN'\n  value: \"SECRET\n\n    SECRET\"\n", "- name: 'TOKEN'\n  value: ***\n***\n    ***\n")]
    [InlineData("- value: SECRET\n  name: TOKEN\n- value: b\n  name: c", "- value: ***\n  name: TOKEN\n- value: b\n  name: c")]
    [InlineData(
        "- value: |\n    SECRET\n    SECRET\n  type: a\n  name: TOKEN\n",
        "- value: ***\n    ***\n    ***\n  type: a\n  name: TOKEN\n")]
    [InlineData("Key: token\r\nValue: SECRET\r\n", "Key: token\r\nValue: ***\r\n")]
    [InlineData(
        "- name: TOKEN\n  a:\n    name: x\n    value: y\n  value: SECRET",
        "- name: TOKEN\n  a:\n    name: x\n    value: y\n  value: ***")]
    [InlineData("- name: TOKEN\n  valueFrom:\n    fieldRef:\n      name: a\n- name: b\n  value: c", null)]
    [InlineData("- name: TOKEN\n- value: b", null)]
    [InlineData("a:\n  name: TOKEN\nvalue: b", null)]
    public void Yaml(string yaml, string? shown) => Assert.Equal(shown ?? yaml, Lines(yaml));

    [Theory]
    [InlineData("{password: hunter2, user: x}", "{password: ***, user: x}")]
    [InlineData("{user: x, password: hunter2}", "{user: x, password: ***}")]
    [InlineData("db: { user: x, pin: 1234 }\nport: 1", "db: { user: x, pin: *** }\nport: 1")]
    [InlineData("- {name: A_TOKEN, value: 'a, b}'}\n- {name: a, value: b}", "- {name: A_TOKEN, value: ***}\n- {name: a, value: b}")]
    [InlineData("env: [{value: a, name: b}, {value: c, name: TOKEN}]", "env: [{value: a, name: b}, {value: ***, name: TOKEN}]")]
    [InlineData("a: {token: [a, {b: c}], d: e}", "a: {token: ***, d: e}")]
    [InlineData("a: {b: {'api-key': x}, \"c\": d}", "a: {b: {'api-key': ***}, \"c\": d}")]
    [InlineData("a: {user: x,\n  b: c, token: SECRET,\n  d: e}\nf: g", "a: {user: x,\n  b: c, token: ***,\n  d: e}\nf: g")]
    [InlineData("{user: x, token:", "{user: x, token:")]
    [InlineData("{a: b, c: http://d/e}", null)]
    [InlineData("{a: 'password: x', c: d}", null)]
    [InlineData("a {password} in prose: {b}", null)]
    public void Maps_within_a_line(string yaml, string? shown) => Assert.Equal(shown ?? yaml, Lines(yaml));

    /// <summary>A visitor chooses these texts. What takes the square of the time allocates the square of the bytes.</summary>
    [Theory]
    [InlineData("{\"value\":", "application/json")]
    [InlineData("{\"value\":1,\"name\":\"token\"", "application/json")]
    [InlineData("{\"name\":\"token\",\"value\":{", "application/json")]
    [InlineData("\n- value: |", "text/yaml")]
    [InlineData("\n- value: |\n  a\n  name: token", "text/yaml")]
    [InlineData("{a: {token: ", "text/yaml")]
    [InlineData("{value: a, name: token, ", "text/yaml")]
    [InlineData("\n{value: a, name: token, ", "text/yaml")]
    public void Each_text_takes_linear_time(string part, string type)
    {
        const int Length = 200_000;
        var text = string.Concat(Enumerable.Repeat(part, Length / part.Length));
        var capture = Sample.Asked(Sample.Store(), body: text, fields: [("Content-Type", type)]);
        var before = GC.GetAllocatedBytesForCurrentThread();
        Assert.NotEmpty(BodyView.OfRequest(capture, MaskingRules.BuiltIn).Content);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 1000L * Length);
    }

    /// <summary>Each value is in the one before it, in a deeper column, and each of their names comes after all of them.</summary>
    [Fact]
    public void Values_in_values_take_linear_time()
    {
        const int Depth = 400;
        var text = string.Concat(
            [.. Enumerable.Range(0, Depth).Select(static i => $"{new string(' ', i)}value:\n"),
            .. Enumerable.Range(0, Depth).Reverse().Select(static i => $"{new string(' ', i)}name: token\n")]);
        var before = GC.GetAllocatedBytesForCurrentThread();
        Assert.NotEmpty(Lines(text));
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 1000L * text.Length);
    }

    private static string Lines(string text) =>
        Encoding.UTF8.GetString(MaskingRules.BuiltIn.OfLines(Encoding.UTF8.GetBytes(text), out _));
}
