using System;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading.Tasks;
using System.Collections.Generic;

/// <summary>What a timetable program does, with the HttpClient of .NET as it is made.</summary>
static class Timetable
{
    static readonly HttpClient http = new HttpClient();

    static async Task<string> Read(HttpResponseMessage answer)
    {
        var text = await answer.Content.ReadAsStringAsync();
        Console.Error.WriteLine($"{answer.RequestMessage.Method} {answer.RequestMessage.RequestUri.AbsolutePath} {(int)answer.StatusCode}");
        if (!answer.IsSuccessStatusCode) throw new Exception($"{(int)answer.StatusCode} {text}");
        return text;
    }

    static string Member(string json, string name) =>
        Regex.Match(json, $"\"{name}\" *: *\"([^\"]*)\"").Groups[1].Value;

    static async Task<string> Run(string root, string mandator, string pin, string jobs)
    {
        var form = new Dictionary<string, string>
        {
            ["grant_type"] = "apikey", ["scope"] = "service_api", ["client_id"] = "timetable-import", ["apikey"] = pin,
        };
        var token = Member(await Read(await http.PostAsync($"{root}/connect/token", new FormUrlEncodedContent(form))), "access_token");
        http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
        // As the .NET Framework does: it sends the body once it is told to go on.
        http.DefaultRequestHeaders.ExpectContinue = true;
        var api = $"{root}/{mandator}/api/v2.0/jobs";
        var batchId = Member(await Read(await http.PostAsync($"{api}/create", new StringContent(jobs, Encoding.UTF8, "application/json"))), "BatchId");
        for (; ; )
        {
            var state = Member(await Read(await http.GetAsync($"{api}/batches/{batchId}?WaitSeconds=5")), "ImportStatus");
            if (state == "LessonsCreated" || state == "LessonsImportFailed") return state;
        }
    }

    static void Main(string[] arguments) =>
        Console.WriteLine(Run(arguments[0], arguments[1], arguments[2], arguments[3]).GetAwaiter().GetResult());
}
